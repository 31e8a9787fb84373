import { NativeSelect, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'

const OVERLAPS = [
  { value: '86400', label: 'for 24 hours' },
  { value: '3600', label: 'for an hour' },
  { value: '604800', label: 'for 7 days' },
  { value: '0', label: 'not at all' },
]

type RotateDialogProps = { hook: Hook; showSecret(secret: string): void; close(): void }

export function RotateDialog({ hook, showSecret, close }: RotateDialogProps) {
  const api = useApi()
  const [overlap, setOverlap] = useState(OVERLAPS[0]!.value)
  const { mutate, isPending, error } = useMutation({
    // The answer is a secret that is shown once.
    gcTime: 0,
    mutationFn: () =>
      api.post('/hooks/incoming/{hook_id}/rotate-secret', {
        params: { path: { hook_id: hook.id } },
        body: { overlap_seconds: Number(overlap) },
      }),
    onSuccess({ secret }) {
      close()
      if (secret !== null) showSecret(secret)
    },
  })
  return (
    <ConfirmDialog
      title="Rotate the secret?"
      button="Rotate secret"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <Text size="sm" mb="md">
        Calls are signed with a new secret from now on.
      </Text>
      <NativeSelect
        label="The previous secret stays valid"
        data={OVERLAPS}
        value={overlap}
        onChange={(event) => setOverlap(event.currentTarget.value)}
      />
    </ConfirmDialog>
  )
}
