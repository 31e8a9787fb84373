import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { SecretOnce } from '../../ui/copy-field.tsx'
import { Dialog } from '../../ui/parts.tsx'

const OVERLAPS = [
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
  { value: '604800', label: '7 days' },
  { value: '0', label: 'Not at all: it stops working now' },
]

export function RotateDialog({ hook, close }: { hook: Hook; close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [overlap, setOverlap] = useState('86400')
  const { mutate, data, isPending, error } = useMutation({
    mutationFn: () =>
      api.post('/hooks/outgoing/{hook_id}/rotate-secret', {
        params: { path: { hook_id: hook.id } },
        body: { overlap_seconds: Number(overlap) },
      }),
    // The secret does not outlive the dialog.
    gcTime: 0,
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.hook('outgoing', hook.id) }),
  })
  if (data)
    return (
      <Dialog title="New secret" size="lg" close={close} isPersistent>
        <SecretOnce label="Secret" value={data.secret ?? ''} />
        <Group justify="flex-end" mt="lg">
          <Button onClick={close}>Done</Button>
        </Group>
      </Dialog>
    )
  return (
    <ConfirmDialog
      title="Rotate the secret?"
      button="Rotate secret"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <Stack gap="md">
        <Text size="sm">
          Requests are signed with a new secret, which you enter at the receiver. Until then they carry both
          signatures.
        </Text>
        <NativeSelect
          label="The previous secret also signs for"
          data={OVERLAPS}
          value={overlap}
          onChange={(event) => setOverlap(event.currentTarget.value)}
        />
      </Stack>
    </ConfirmDialog>
  )
}
