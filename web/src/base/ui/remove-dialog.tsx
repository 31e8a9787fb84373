import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Data } from '#client/index.ts'
import { isNotFound } from '#web/base/api/api.ts'
import { queryKeys, useApi, usePage } from '#web/base/api/queries.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { notify } from './notify.ts'

type Name = Data<'get', '/names'>[number]

/** What contains something else, which goes with it. */
type Container = 'organization' | 'project' | 'environment' | 'application' | 'server' | 'pipeline'

/** `what` is the noun: "server". */
type RemovedProps =
  | { what: Container; id: number; remove?: undefined }
  | { what: string; id?: undefined; remove(): Promise<unknown> }

type RemoveDialogProps = RemovedProps & {
  name: string
  /** Whether the name has to be typed when much goes with it. */
  isTyped?: boolean
  /** What else happens. */
  children?: ReactNode
  onRemoved(): void
  close(): void
}

/** More than this is worth typing the name. */
const MAX_UNTYPED = 5
const MAX_LISTED = 8

/** Asks before something is removed, and names what goes with it. */
export function RemoveDialog(props: RemoveDialogProps) {
  const { what, id, name, isTyped = true, children, onRemoved, close } = props
  const api = useApi()
  const [typed, setTyped] = useState('')
  const within = id === undefined ? undefined : `${what}:${id}`
  const contents = usePage(queryKeys.namesWithin(within), '/names', {
    params: { query: { within, per_page: 100 } },
    enabled: within !== undefined,
  })
  const remove = () =>
    props.remove
      ? props.remove()
      : api.delete(`/${props.what}s/{id}`, { params: { path: { id: props.id }, query: { cascade: true } } })
  const named = `${what.charAt(0).toUpperCase()}${what.slice(1)} ${name}`
  /** False: someone else was faster. */
  const act = () =>
    remove().then(
      () => true,
      (error: unknown) => {
        if (isNotFound(error)) return false
        throw error
      },
    )
  const { items = [], total = '0' } = contents.data ?? {}
  const mustType = isTyped && items.length > MAX_UNTYPED
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      button={`Remove ${what}`}
      color="red"
      isPending={within !== undefined && contents.isPending}
      isDisabled={mustType && typed.trim() !== name}
      error={isNotFound(contents.error) ? null : contents.error}
      act={act}
      onDone={(isRemoved) => {
        notify.done(isRemoved ? `${named} removed.` : `${named} did not exist anymore.`)
        onRemoved()
      }}
      close={close}
    >
      {items.length > 0 && <Contents items={items} total={total} />}
      {children ?? 'This cannot be undone.'}
      {mustType && (
        <TextInput
          mt="md"
          label={`Type ${name} to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
    </ConfirmDialog>
  )
}

function Contents({ items, total }: { items: Name[]; total: string }) {
  const more = Number.parseInt(total, 10) - MAX_LISTED
  return (
    <>
      Removed with it:
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
