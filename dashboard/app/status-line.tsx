/** Says on every page what is under way. */
import type { JSX } from 'preact';
import { IconButton } from '../parts/controls.tsx';
import { t } from '../parts/t.ts';
import { pageTasks, type PageTask } from '../parts/tasks.ts';

/** Empty while nothing is under way. It is always there, so that a screen reader says what comes into it. */
export function StatusLine(): JSX.Element {
  const tasks = pageTasks.value;
  return (
    <div
      class={`status-line floating${tasks.length === 0 ? ' is-empty' : ''}`}
      role="status"
      aria-label={t('Under way')}
    >
      {tasks.map((task) => (
        <Task key={task.title} task={task} />
      ))}
    </div>
  );
}

function Task({ task }: { readonly task: PageTask }): JSX.Element {
  const share = task.share.value;
  return (
    <div class="row gap-10">
      <span class="grow breakable">{task.title}</span>
      <progress aria-label={task.title} {...(share !== undefined && { value: share })} />
      {task.cancel !== undefined && (
        <IconButton
          icon="close"
          label={t('End: {task}', { task: task.title })}
          onClick={task.cancel}
        />
      )}
    </div>
  );
}
