import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { SecretOnce } from '#web/base/ui/copy-field.tsx'
import { DoneDialog } from '#web/base/ui/dialog.tsx'
import { useReturnFocus } from '#web/base/ui/use-return-focus.ts'

const TEXTS = {
  incoming: {
    what: 'Calls are signed with a new secret from now on.',
    label: 'The previous secret stays valid',
    overlaps: ['86400 for 24 hours', '3600 for an hour', '604800 for 7 days', '0 not at all'],
  },
  outgoing: {
    what: 'Requests are signed with a new secret, which you enter at the receiver. Until then they carry both signatures.',
    label: 'Keep signing with the old secret for',
    overlaps: ['3600 1 hour', '86400 24 hours', '604800 7 days', '0 Not at all: it stops working now'],
  },
}

/** For both kinds of hooks: asks, and shows the new secret once. */
export function RotateDialog({ hook: { id, type }, close }: { hook: Hook; close(): void }) {
  // It is two dialogs, one after the other.
  useReturnFocus()
  const api = useApi()
  const refetch = useRefetch()
  const { what, label, overlaps } = TEXTS[type]
  const [overlap, setOverlap] = useState('86400')
  const [secret, setSecret] = useState<string>()
  if (secret !== undefined) return <SecretDialog type={type} secret={secret} close={close} />
  return (
    <ConfirmDialog
      title="Rotate the secret?"
      button="Rotate secret"
      act={() =>
        api.post(`/hooks/${type}/{hook_id}/rotate-secret`, {
          params: { path: { hook_id: id } },
          body: { overlap_seconds: Number(overlap) },
        })
      }
      show={(rotated) => {
        setSecret(rotated.secret ?? '')
        void refetch(queryKeys.hook(type, id))
      }}
      close={close}
    >
      {what}
      <NativeSelect
        mt="md"
        label={label}
        data={overlaps.map(toOption)}
        value={overlap}
        onChange={(event) => setOverlap(event.currentTarget.value)}
      />
    </ConfirmDialog>
  )
}

/** `3600 1 hour`: the seconds, and what they are called. */
function toOption(text: string) {
  const [value = '', ...words] = text.split(' ')
  return { value, label: words.join(' ') }
}

type SecretDialogProps = { type: Hook['type']; secret: string; close(): void }

/** A new secret, this once. Only its button closes it. */
export function SecretDialog({ type, secret, close }: SecretDialogProps) {
  return (
    <DoneDialog title="New secret" close={close} isPersistent>
      <SecretOnce
        label="Secret"
        value={secret}
        {...(type === 'incoming' && { description: 'Enter it at the service that calls this hook.' })}
      />
    </DoneDialog>
  )
}
