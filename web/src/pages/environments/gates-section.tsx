// What holds the runs of an environment before they start: who approves them, and when nothing starts.
import { Badge, Stack } from '@mantine/core'
import { Pencil, Plus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { EnvironmentRecord, Freeze } from '#web/base/api/types.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { Item, ItemList, Section } from '#web/base/ui/parts.tsx'
import { useEveryFreeze } from '#web/resources/gates/freezes.ts'
import { describeApproval } from './approval-input.ts'
import { describeFreeze, isOver } from './freeze-input.ts'

const ApprovalDialog = lazy(() => import('./approval-dialog.tsx'))
const FreezeDialog = lazy(() => import('./freeze-dialog.tsx'))
const EndFreezeDialog = lazy(() => import('#web/resources/gates/end-freeze-dialog.tsx'))

type EnvironmentProps = { environment: EnvironmentRecord }

export function GatesSection({ environment }: EnvironmentProps) {
  const [open, setOpen] = useState<'approval' | 'freeze'>()
  const scope = environmentScope(environment)
  const freezes = useEveryFreeze(scope).filter((freeze) => !isOver(freeze, new Date()))
  const close = () => setOpen(undefined)
  const edits = { permission: 'environment:edit', scope }
  return (
    <Section
      id="gates"
      title="Gates"
      action={
        <GuardedButton {...edits} variant="default" icon={Plus} onClick={() => setOpen('freeze')}>
          Add freeze
        </GuardedButton>
      }
    >
      <ItemList>
        <Item
          title="Approval"
          action={
            <GuardedButton {...edits} variant="default" size="compact-sm" onClick={() => setOpen('approval')}>
              Edit approval
            </GuardedButton>
          }
        >
          {describeApproval(environment.approval)}
        </Item>
        {freezes.map((freeze) => (
          <FreezeItem key={freeze.id} freeze={freeze} environment={environment} />
        ))}
      </ItemList>
      <Suspense fallback={null}>
        {open === 'approval' && <ApprovalDialog environment={environment} close={close} />}
        {open === 'freeze' && <FreezeDialog environment={environment} close={close} />}
      </Suspense>
    </Section>
  )
}

function FreezeItem({ freeze, environment }: EnvironmentProps & { freeze: Freeze }) {
  const [open, setOpen] = useState<'edit' | 'remove'>()
  const close = () => setOpen(undefined)
  const { name, reason, in_force, environment_id } = freeze
  const edits = { permission: 'environment:edit', scope: environmentScope(environment) }
  return (
    <Item
      title={
        <>
          {name}
          {in_force && (
            <Badge variant="light" color="orange" tt="none">
              In force
            </Badge>
          )}
        </>
      }
      action={
        environment_id !== null && (
          <MoreMenu label={`Actions for freeze ${name}`} isSmall>
            <GuardedMenuItem {...edits} icon={Pencil} onClick={() => setOpen('edit')}>
              Edit
            </GuardedMenuItem>
            <RemoveMenuItem {...edits} onClick={() => setOpen('remove')} />
          </MoreMenu>
        )
      }
    >
      <Stack gap={0}>
        <span>
          {describeFreeze(freeze)}
          {environment_id === null && ', in the whole organization'}
        </span>
        <span>{reason}</span>
      </Stack>
      <Suspense fallback={null}>
        {open === 'edit' && <FreezeDialog environment={environment} freeze={freeze} close={close} />}
        {open === 'remove' && <EndFreezeDialog freeze={freeze} close={close} />}
      </Suspense>
    </Item>
  )
}
