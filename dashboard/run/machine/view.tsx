/** The "Machine" tab: what telemetry recorded of processor, memory, GPU and step times. */
import type { JSX } from 'preact';
import { isMachineMetric } from '../../charts/group.ts';
import { HowTo } from '../../parts/notices.tsx';
import type { TabProps } from '../feed/tab.ts';
import { Curves } from '../metrics/curves.tsx';

/** Charts of the machine's metrics, or how they are recorded. */
export default function MachineView(props: TabProps): JSX.Element {
  void props.watch.nowMs.value;
  return (
    <Curves {...props} isWanted={isMachineMetric}>
      <HowTo
        title={props.feed.isLive ? 'No telemetry yet' : 'The machine was not watched'}
        text="Processor, memory, GPU, heap and step times, as far as the platform tells them."
        code={`const telemetry = new SystemTelemetry(session, { tf, sampleEveryNSteps: 10 });
await telemetry.step(step, {}, () => trainOnBatch(batch));`}
      />
    </Curves>
  );
}
