// Right after a hook was created: what to enter at the service, this once, and the first call as it arrives.
import { Button, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { entrySteps } from '#client/index.ts'
import type { Hook } from '../../api/types.ts'
import { CopyField, SecretOnce } from '../../ui/copy-field.tsx'
import { SectionCard } from '../../ui/parts.tsx'
import { FirstCall } from './first-call.tsx'
import { fieldValues, type Sender, type SenderValues } from './new-hook-body.ts'
import classes from './new-incoming-hook.module.css'
import { SetSecret } from './set-secret.tsx'

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
