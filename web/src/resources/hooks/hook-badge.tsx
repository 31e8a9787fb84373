import type { Hook } from '#web/base/api/types.ts'
import { StatusBadge } from '#web/base/ui/parts.tsx'
import { repositoryState } from './connection.ts'

/** One truth about a hook: the health of an outgoing one, the repository of an incoming one that has one. */
export function HookBadge({ hook }: { hook: Hook }) {
  const repository = repositoryState(hook)
  if (repository) return <StatusBadge {...repository} />
  switch (hook.health?.state ?? (hook.active ? 'active' : 'inactive')) {
    case 'active':
      return <StatusBadge status="completed" label="Active" />
    case 'failing':
    case 'paused':
      return <StatusBadge status="failed" label="Failing" />
    case 'disabled':
      return <StatusBadge status="failed" label="Disabled" />
    case 'inactive':
      return <StatusBadge status="skipped" label="Paused" icon="–" />
  }
}
