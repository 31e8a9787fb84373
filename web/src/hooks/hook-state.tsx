import type { Hook } from '../api-types.ts'
import status from '../words/status.module.css'

export function HookState({ hook }: { hook: Pick<Hook, 'active' | 'disabled_at'> }) {
  const [kind, sign, words] = hook.disabled_at
    ? (['failed', '✕', 'Switched off'] as const)
    : hook.active
      ? (['completed', '✓', 'Active'] as const)
      : (['skipped', '–', 'Not active'] as const)
  return (
    <span className={status.badge} data-status={kind}>
      <span className={status.sign} aria-hidden="true">
        {sign}
      </span>
      {words}
    </span>
  )
}
