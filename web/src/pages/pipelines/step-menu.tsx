import { Menu } from '@mantine/core'
import { ArrowDown, ArrowUp, BetweenHorizontalEnd, BetweenHorizontalStart, Copy } from 'lucide-react'
import type { PipelineStep } from '#web/base/api/types.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import type { OpenForm } from './open-form.ts'
import { isHealthStep, positionBefore } from './step-order.ts'

type StepMenuProps = {
  step: PipelineStep
  steps: readonly PipelineStep[]
  scope: PermissionScope | undefined
  open(form: OpenForm): void
  move(id: number, to: number): void
  remove(step: PipelineStep): void
}

export function StepMenu({ step, steps, scope, open, move, remove }: StepMenuProps) {
  const { id, name, built_in } = step
  const index = steps.findIndex((one) => one.id === id)
  const guard = { permission: 'pipeline:edit', scope }
  const add = (position: ReturnType<typeof positionBefore>, copyOf?: number) =>
    open({ kind: 'add', position, copyOf })
  return (
    <>
      {!isHealthStep(step) && (
        <GuardedButton
          {...guard}
          size="compact-sm"
          variant="subtle"
          aria-label={`Edit ${name}`}
          data-edit
          onClick={() => open({ kind: 'change', id })}
        >
          Edit
        </GuardedButton>
      )}
      <MoreMenu label={`More actions for ${name}`} isSmall>
        <GuardedMenuItem
          {...guard}
          icon={BetweenHorizontalEnd}
          onClick={() => add(positionBefore(steps, id))}
        >
          Add step before
        </GuardedMenuItem>
        {!isHealthStep(step) && (
          <GuardedMenuItem {...guard} icon={BetweenHorizontalStart} onClick={() => add(id)}>
            Add step after
          </GuardedMenuItem>
        )}
        {!built_in && (
          <>
            <GuardedMenuItem {...guard} icon={Copy} onClick={() => add(id, id)}>
              Duplicate
            </GuardedMenuItem>
            <Menu.Divider />
            <GuardedMenuItem
              {...guard}
              disabled={index === 0}
              icon={ArrowUp}
              onClick={() => move(id, index - 1)}
            >
              Move up
            </GuardedMenuItem>
            <GuardedMenuItem
              {...guard}
              disabled={index === steps.length - 1}
              icon={ArrowDown}
              onClick={() => move(id, index + 1)}
            >
              Move down
            </GuardedMenuItem>
            <Menu.Divider />
            <RemoveMenuItem {...guard} onClick={() => remove(step)} />
          </>
        )}
      </MoreMenu>
    </>
  )
}
