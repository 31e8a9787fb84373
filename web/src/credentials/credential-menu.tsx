import { Menu } from '@mantine/core'
import { KeyRound, Pencil, PlugZap } from 'lucide-react'
import { GuardedMenuItem, RemoveMenuItem } from '../ui/guarded-button.tsx'
import { ICON } from '../ui/icon.ts'
import { MoreMenu } from '../ui/more-menu.tsx'
import type { Credential } from './credentials.ts'
import type { OpenDialog } from './credentials-page.tsx'

type CredentialMenuProps = { credential: Credential; open(dialog: OpenDialog): void }

export function CredentialMenu({ credential, open }: CredentialMenuProps) {
  const scope = { organization: credential.organization.id }
  return (
    <MoreMenu label={`Actions for ${credential.name}`} isSmall>
      {credential.public_key && (
        <Menu.Item leftSection={<KeyRound {...ICON} />} onClick={() => open({ kind: 'key', credential })}>
          Show public key
        </Menu.Item>
      )}
      <GuardedMenuItem
        permission="credential:run"
        scope={scope}
        leftSection={<PlugZap {...ICON} />}
        onClick={() => open({ kind: 'check', credential })}
      >
        Check
      </GuardedMenuItem>
      <GuardedMenuItem
        permission="credential:edit"
        scope={scope}
        leftSection={<Pencil {...ICON} />}
        onClick={() => open({ kind: 'edit', credential })}
      >
        {credential.provider.code === 'ssh' ? 'Edit' : 'Edit or replace the token'}
      </GuardedMenuItem>
      <RemoveMenuItem
        permission="credential:remove"
        scope={scope}
        onClick={() => open({ kind: 'remove', credential })}
      />
    </MoreMenu>
  )
}
