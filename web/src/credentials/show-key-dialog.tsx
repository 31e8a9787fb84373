import { Button, Group, Stack, Text } from '@mantine/core'
import { CopyField } from '../ui/copy-field.tsx'
import { Dialog } from '../ui/parts.tsx'
import type { Credential } from './credentials.ts'

export function ShowKeyDialog({ credential, close }: { credential: Credential; close(): void }) {
  return (
    <Dialog title={`Public key of ${credential.name}`} size="lg" close={close}>
      <Stack gap="md">
        <CopyField label="Public key" value={credential.public_key ?? ''} />
        <Text size="sm">
          For a server, add it to <code>~/.ssh/authorized_keys</code> of the account that Gantry logs in as.
          For a repository, add it as a deploy key.
        </Text>
        <Text size="sm" className="dimmed wrap">
          Fingerprint <code>{credential.public_key_fingerprint}</code>
        </Text>
        <Group justify="flex-end">
          <Button onClick={close}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
