// Right after a hook was created: what to enter at the service, this once, and the first call as it arrives.
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { entrySteps } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { CopyField, SecretOnce } from '#web/base/ui/copy-field.tsx'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import { FirstCall } from './first-call.tsx'
import { fieldValues, type Sender, type SenderValues } from './new-hook-body.ts'
import classes from './new-incoming-hook.module.css'

type HookCreatedProps = {
  hook: Hook
  sender: Sender
  values: SenderValues
  /** Otherwise a link to the page of the hook. */
  done?: (() => void) | undefined
}

export function HookCreated({ hook, sender, values, done }: HookCreatedProps) {
  const given = fieldValues(sender, values)
  // A secret that the sender shows is entered here, not there.
  const secret = sender.secret_source === 'gantry' ? hook.secret : null
  const steps = entrySteps(sender, { ...given, url: hook.url, secret: secret ?? undefined })
  const needsSecret = sender.secret_source === 'sender' && given.secret === undefined
  return (
    <Stack>
      <SectionCard id="created" title={`Hook ${hook.name} is ready`}>
        <Stack gap="md">
          <CopyField label="URL" value={hook.url ?? ''} />
          {secret && <SecretOnce label="Secret" value={secret} />}
          <div>
            <Text fw={600} mb="xs">
              At {sender.name}
            </Text>
            <ol className={classes.steps}>
              {steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          </div>
          {needsSecret && <SetSecret hook={hook} sender={sender} />}
        </Stack>
      </SectionCard>
      <FirstCall hookId={hook.id} />
      <Group justify="flex-end">
        {done ? (
          <Button onClick={done}>Continue</Button>
        ) : (
          <Button component={Link} href={`/hooks/incoming/${hook.id}`}>
            Open hook
          </Button>
        )}
      </Group>
    </Stack>
  )
}

/** Some services show their secret only once they know the URL. */
function SetSecret({ hook, sender }: { hook: Hook; sender: Sender }) {
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
