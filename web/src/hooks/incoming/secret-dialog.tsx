import { Button, Group } from '@mantine/core'
import { SecretOnce } from '../../ui/copy-field.tsx'
import { Dialog } from '../../ui/parts.tsx'

/** A new secret, this once. Only its button closes it. */
export function SecretDialog({ secret, close }: { secret: string; close(): void }) {
  return (
    <Dialog title="The new secret" close={close} isPersistent centered size="lg">
      <SecretOnce label="Secret" value={secret} description="Enter it at the service that calls this hook." />
      <Group justify="flex-end" mt="lg">
        <Button onClick={close}>Done</Button>
      </Group>
    </Dialog>
  )
}
