// Which applications are deployed to which servers: the same link, shown on the pages of both.
import { Group, NativeSelect } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { EmptyState } from '#web/base/ui/page.tsx'
import { Section } from '#web/base/ui/parts.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { useInventoryChanged } from '#web/resources/servers/servers.ts'

export type LinkedRow = { id: number; name: string; detail: ReactNode }

type LinksProps = {
  /** What is linked to this page's resource. */
  type: 'server' | 'application'
  title: string
  /** Of this page's resource. */
  name: string
  linked: LinkedRow[]
  /** What could be linked as well. */
  others: LinkedRow[]
  permission: string
  scope: PermissionScope | undefined
  empty: string
  link(id: number): Promise<unknown>
  unlink(id: number): Promise<unknown>
}

export function Links(props: LinksProps) {
  const { type, title, linked, others, permission, scope, empty } = props
  const changed = useInventoryChanged()
  const [chosen, setChosen] = useState('')
  const [leaving, setLeaving] = useState<LinkedRow>()
  const add = useMutation({
    mutationFn: (id: number) => props.link(id),
    async onSuccess(_, id) {
      await changed()
      setChosen('')
      const name = others.find((one) => one.id === id)?.name
      notify.done(`${type === 'server' ? 'Server' : 'Application'} ${name} linked.`)
    },
    onError: notify.problem,
  })
  const selected = others.find(({ id }) => String(id) === chosen) ?? others[0]
  return (
    <Section id={`${type}s`} title={title}>
      <RowTable
        label={title}
        rows={linked}
        columns={[
          ['Name', 'wrap name-cell', ({ id, name }) => <Link href={`/${type}s/${id}`}>{name}</Link>],
          ['Details', 'wrap dimmed', ({ detail }) => detail],
          [
            '',
            'end-cell',
            (row) => (
              <GuardedButton
                size="compact-sm"
                variant="subtle"
                color="red"
                permission={permission}
                scope={scope}
                onClick={() => setLeaving(row)}
                aria-label={`Unlink ${row.name}`}
              >
                Unlink
              </GuardedButton>
            ),
          ],
        ]}
        empty={<EmptyState icon={Link2} title={empty} />}
      />
      {selected && (
        <Group gap="xs" mt="sm" align="flex-end">
          <NativeSelect
            aria-label={`${type === 'server' ? 'Server' : 'Application'} to link`}
            value={String(selected.id)}
            onChange={(event) => setChosen(event.currentTarget.value)}
            data={others.map(({ id, name }) => ({ value: String(id), label: name }))}
            className="short-select"
          />
          <GuardedButton
            variant="default"
            permission={permission}
            scope={scope}
            loading={add.isPending}
            onClick={() => add.mutate(selected.id)}
          >
            Link {type}
          </GuardedButton>
        </Group>
      )}
      {leaving && (
        <UnlinkDialog
          row={leaving}
          what={type === 'server' ? `${props.name} to ${leaving.name}` : `${leaving.name} to ${props.name}`}
          unlink={() => props.unlink(leaving.id)}
          close={() => setLeaving(undefined)}
        />
      )}
    </Section>
  )
}

type UnlinkDialogProps = { row: LinkedRow; what: string; unlink(): Promise<unknown>; close(): void }

function UnlinkDialog({ row, what, unlink, close }: UnlinkDialogProps) {
  const changed = useInventoryChanged()
  return (
    <ConfirmDialog
      title={`Unlink ${row.name}?`}
      button="Unlink"
      color="red"
      act={unlink}
      done={`${row.name} unlinked.`}
      onDone={changed}
      close={close}
    >
      Runs no longer deploy {what}. What was deployed stays there.
    </ConfirmDialog>
  )
}
