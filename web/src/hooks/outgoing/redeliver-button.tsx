import type { ButtonProps } from '@mantine/core'
import { type PermissionScope, usePermission } from '../../session/permissions.ts'
import { ReasonedButton } from '../../ui/guarded-button.tsx'
import { notify } from '../../ui/notify.ts'
import { useReplay } from '../use-replay.ts'
import type { Delivery } from './deliveries.ts'

export type RedeliverButtonProps = ButtonProps & {
  delivery: Delivery
  scope: PermissionScope | undefined
  /** Unknown for a hook of another pipeline. */
  hook: { active: boolean } | undefined
}

export function RedeliverButton({ delivery, scope, hook, ...rest }: RedeliverButtonProps) {
  const first = delivery.requests[0]!
  const { allowed, reason } = usePermission('hook:edit', scope)
  // The first attempt stands for the delivery: the next ones belong to it.
  const { mutate, isPending } = useReplay(first)
  if (first.event === 'test') return null
  const whyNot = hook?.active === false ? 'Enable the hook first.' : undefined
  return (
    <ReasonedButton
      {...rest}
      loading={isPending}
      reason={allowed ? whyNot : reason}
      onClick={() =>
        mutate(undefined, {
          onSuccess: () => notify.done('Sending the delivery again.'),
          onError: notify.problem,
        })
      }
    >
      Redeliver
    </ReasonedButton>
  )
}
