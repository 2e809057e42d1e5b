/** The "Machine" tab: what telemetry recorded of processor, memory, GPU and step times; profiles, timers, and the cost of recording. */
import type { JSX } from 'preact';
import { isMachineMetric } from '../../charts/group.ts';
import { HowTo } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import type { TabProps } from '../feed/tab.ts';
import { Curves } from '../metrics/curves.tsx';
import { Overhead } from './overhead.tsx';
import { RunProfiles } from './profile-view.tsx';

/** Profiles, what recording takes, then charts of the machine's metrics, or how they are recorded. */
export default function MachineView(props: TabProps): JSX.Element {
  void props.watch.nowMs.value;
  return (
    <>
      <RunProfiles feed={props.feed} />
      <Overhead events={props.feed.events} />
      <Curves {...props} isWanted={isMachineMetric}>
        <HowTo
          title={props.feed.isLive ? t('No telemetry yet') : t('The machine was not watched')}
          text={t(
            'Processor, memory, GPU, heap and step times, as far as the platform tells them.',
          )}
          code={`const telemetry = new SystemTelemetry(session, { tf, sampleEveryNSteps: 10 });
await telemetry.step(step, {}, () => trainOnBatch(batch));`}
        />
      </Curves>
    </>
  );
}
