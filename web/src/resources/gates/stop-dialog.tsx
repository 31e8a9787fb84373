import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { STOP_THE_LINE } from './freezes.ts'

export default function StopDialog({ organization, close }: { organization: number; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  const [reason, setReason] = useState('Incident')
  async function stop() {
    const params = { path: { id: organization } }
    const starts_at = new Date().toISOString()
    const made = await api.post('/organizations/{id}/freezes', {
      params,
      body: { name: STOP_THE_LINE, reason, starts_at },
    })
    // Where the clock of this machine is ahead of the server's, it would begin late.
    if (made.in_force) return made
    return api.put('/freezes/{id}', {
      params: { path: { id: made.id } },
      body: { starts_at: made.created_at },
    })
  }
  return (
    <ConfirmDialog
      title="Stop the line?"
      button={STOP_THE_LINE}
      color="red"
      isDisabled={reason.trim() === ''}
      act={stop}
      done="Nothing starts in this organization until you end the freeze"
      onDone={() => refetch(queryKeys.freezes())}
      close={close}
    >
      Nothing starts in any environment of this organization until you end the freeze. Runs that have started
      continue, and rollbacks are not held.
      <TextInput
        mt="md"
        label="Reason"
        description="For everyone whose runs wait."
        value={reason}
        maxLength={2000}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ConfirmDialog>
  )
}
