import { Button, Group, Stack, Text } from '@mantine/core'
import { CopyField, SecretOnce } from '../ui/copy-field.tsx'
import { Dialog } from '../ui/parts.tsx'

type CreatedTokenProps = { token: { name: string; token: string }; close(): void }

/** The token, once, and the commands that take it. They do not contain it: shells remember what is typed. */
export function CreatedTokenDialog({ token: { name, token }, close }: CreatedTokenProps) {
  const { origin } = window.location
  return (
    <Dialog close={close} title={`Token ${name}`} size="lg" isPersistent>
      <Stack gap="md">
        <SecretOnce label="Token" value={token} />
        <CopyField
          label="Sign in the command line"
          description="It asks for the token: paste it there."
          value={`gantry login ${origin} --with-token`}
        />
        <CopyField
          label="Use it in CI"
          description="Set GANTRY_TOKEN from the secret store of your CI."
          value={`GANTRY_URL=${origin} gantry status`}
        />
        <Text size="sm" className="dimmed">
          Other programs send it as <code>Authorization: Bearer …</code>. Anyone who has it can act as you
          within its scopes, so keep it in a secret store.
        </Text>
        <Group justify="flex-end">
          <Button onClick={close}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
