import { Button, Group, PasswordInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { fieldErrors } from '../../ui/field-errors.ts'
import { ErrorAlert } from '../../ui/page.tsx'
import type { Sender } from './new-hook-body.ts'

/** Some services show their secret only once they know the URL. */
export function SetSecret({ hook, sender }: { hook: Hook; sender: Sender }) {
  const api = useApi()
  const [secret, setSecret] = useState('')
  const { mutate, isPending, isSuccess, error } = useMutation({
    gcTime: 0,
    mutationFn: () =>
      api.put('/hooks/incoming/{hook_id}', { params: { path: { hook_id: hook.id } }, body: { secret } }),
    onSuccess: () => setSecret(''),
  })
  const { errors, rest } = fieldErrors(error, ['secret'])
  if (isSuccess)
    return (
      <Text role="status" size="sm">
        The secret of {sender.name} is stored.
      </Text>
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        mutate()
      }}
    >
      <Group align="flex-end" gap="sm">
        <PasswordInput
          flex={1}
          miw="14rem"
          label={`Secret that ${sender.name} shows`}
          description="Calls are rejected until it is set. You can also set it later."
          autoComplete="new-password"
          value={secret}
          error={errors.secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={isPending} disabled={secret === ''}>
          Set secret
        </Button>
      </Group>
      {rest && <ErrorAlert error={rest} />}
    </form>
  )
}
