// Which applications are deployed to which servers: the same link, shown on the pages of both.
import { Group, NativeSelect, Table } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useInventoryChanged } from '../servers/servers.ts'
import type { PermissionScope } from '../session/permissions.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { notify } from '../ui/notify.ts'
import { DataTable, Section } from '../ui/parts.tsx'

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
      {linked.length === 0 && <EmptyState icon={Link2} title={empty} />}
      {linked.length > 0 && (
        <DataTable columns={['Name', 'Details', '']} aria-label={title}>
          {linked.map((row) => (
            <Table.Tr key={row.id}>
              <Table.Td className="wrap name-cell">
                <Link href={`/${type}s/${row.id}`}>{row.name}</Link>
              </Table.Td>
              <Table.Td className="wrap dimmed">{row.detail}</Table.Td>
              <Table.Td ta="right">
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
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
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
  const { mutate, isPending, error } = useMutation({
    mutationFn: unlink,
    async onSuccess() {
      close()
      await changed()
      notify.done(`${row.name} unlinked.`)
    },
  })
  return (
    <ConfirmDialog
      title={`Unlink ${row.name}?`}
      button="Unlink"
      color="red"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      Runs no longer deploy {what}. What was deployed stays there.
    </ConfirmDialog>
  )
}
