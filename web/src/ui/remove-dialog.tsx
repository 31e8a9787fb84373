import { Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Data } from '#client/index.ts'
import { isNotFound } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { notify } from './notify.ts'

type Name = Data<'get', '/names'>[number]

type RemoveDialogProps = {
  /** The noun: "server". */
  what: string
  name: string
  /** What it contains goes with it. */
  within?: { type: string; id: number | string }
  /** Whether the name has to be typed when much goes with it. */
  isTyped?: boolean
  /** What else happens. */
  children?: ReactNode
  remove(): Promise<unknown>
  onRemoved(): void
  close(): void
}

/** More than this is worth typing the name. */
const MAX_UNTYPED = 5
const MAX_LISTED = 8

/** Asks before something is removed, and names what goes with it. */
export function RemoveDialog(props: RemoveDialogProps) {
  const { what, name, within, isTyped = true, children, remove, onRemoved, close } = props
  const api = useApi()
  const [typed, setTyped] = useState('')
  const contents = useQuery({
    queryKey: queryKeys.namesWithin(within && `${within.type}:${within.id}`),
    enabled: within !== undefined,
    queryFn: ({ signal }) => {
      const query = { within: `${within?.type}:${within?.id}`, per_page: 100 }
      return api.page('/names', { params: { query }, signal })
    },
  })
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      remove().then(
        () => true,
        // Somebody else was faster.
        (error: unknown) => {
          if (isNotFound(error)) return false
          throw error
        },
      ),
    onSuccess(isRemoved) {
      const named = `${what.charAt(0).toUpperCase()}${what.slice(1)} ${name}`
      close()
      notify.done(isRemoved ? `${named} removed.` : `${named} did not exist anymore.`)
      onRemoved()
    },
  })
  const { items = [], total = '0' } = contents.data ?? {}
  const mustType = isTyped && items.length > MAX_UNTYPED
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      button={`Remove ${what}`}
      color="red"
      isPending={isPending || (within !== undefined && contents.isPending)}
      isDisabled={mustType && typed.trim() !== name}
      error={error ?? (isNotFound(contents.error) ? null : contents.error)}
      confirm={() => mutate()}
      close={close}
    >
      {items.length > 0 && <Contents items={items} total={total} />}
      <Text size="sm">{children ?? 'This cannot be undone.'}</Text>
      {mustType && (
        <TextInput
          mt="md"
          label={`Type ${name} to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </ConfirmDialog>
  )
}

function Contents({ items, total }: { items: Name[]; total: string }) {
  const more = Number.parseInt(total, 10) - MAX_LISTED
  return (
    <>
      <Text size="sm">Removed with it:</Text>
      <ul>
        {items.slice(0, MAX_LISTED).map(({ type, id, name }) => (
          <li key={`${type}-${id}`} className="wrap">
            {type.replaceAll('_', ' ')} <strong>{name}</strong>
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </>
  )
}
