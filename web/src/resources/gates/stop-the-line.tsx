import { TextInput } from '@mantine/core'
import { OctagonX } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { useFreezes } from './freezes.ts'

const NAME = 'Stop the line'

/** Nothing starts in a whole organization, from one moment to the next: two clicks. */
export function StopTheLine({ organization }: { organization: number }) {
  const [isAsking, setAsking] = useState(false)
  const isStopped = useFreezes({ organization }).some(({ name }) => name === NAME)
  if (isStopped) return null
  return (
    <>
      <GuardedButton
        permission="organization:edit"
        scope={{ organization }}
        variant="outline"
        color="red"
        icon={OctagonX}
        onClick={() => setAsking(true)}
      >
        {NAME}
      </GuardedButton>
      {isAsking && <StopDialog organization={organization} close={() => setAsking(false)} />}
    </>
  )
}

function StopDialog({ organization, close }: { organization: number; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  const [reason, setReason] = useState('Incident')
  async function stop() {
    const params = { path: { id: organization } }
    const starts_at = new Date().toISOString()
    const made = await api.post('/organizations/{id}/freezes', {
      params,
      body: { name: NAME, reason, starts_at },
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
      button={NAME}
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
