import { Alert, Stack, Text } from '@mantine/core'
import { entrySteps } from '#client/index.ts'
import type { Hook, Receiver } from '#web/base/api/types.ts'
import { SecretOnce } from '#web/base/ui/copy-field.tsx'
import classes from './outgoing.module.css'

export type CreatedHookProps = { hook: Hook; secret: string | null; receiver: Receiver }

/** What a new hook shows once. Services that verify nothing need no secret: it is a detail for them. */
export function CreatedHook({ hook, secret, receiver }: CreatedHookProps) {
  const needsSecret = receiver.instructions.includes('<secret>')
  const secretField = secret !== null && <SecretOnce label="Secret" value={secret} />
  return (
    <Alert color="teal" role="status" title={`${hook.name} is set up`} mb="md">
      <Stack gap="sm">
        {needsSecret ? (
          <>
            <ol className={classes.steps}>
              {entrySteps(receiver, { secret: 'below' }).map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
            {secretField}
          </>
        ) : (
          <>
            <Text size="sm">Send a test to see whether {receiver.name} accepts it.</Text>
            <details>
              <summary>Secret that signs the requests</summary>
              <Stack mt="xs">{secretField}</Stack>
            </details>
          </>
        )}
      </Stack>
    </Alert>
  )
}
