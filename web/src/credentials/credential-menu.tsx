import { Menu } from '@mantine/core'
import { KeyRound, Pencil, PlugZap, Trash2 } from 'lucide-react'
import { GuardedMenuItem } from '../ui/guarded-button.tsx'
import { MoreMenu } from '../ui/more-menu.tsx'
import type { Credential } from './credentials.ts'
import type { OpenDialog } from './credentials-page.tsx'

type CredentialMenuProps = { credential: Credential; open(dialog: OpenDialog): void }

export function CredentialMenu({ credential, open }: CredentialMenuProps) {
  const scope = { organization: credential.organization.id }
  const icon = { size: 16, strokeWidth: 1.75, 'aria-hidden': true } as const
  return (
    <MoreMenu label={`Actions for ${credential.name}`} isSmall>
      {credential.public_key && (
        <Menu.Item leftSection={<KeyRound {...icon} />} onClick={() => open({ kind: 'key', credential })}>
          Show public key
        </Menu.Item>
      )}
      <GuardedMenuItem
        permission="credential:run"
        scope={scope}
        leftSection={<PlugZap {...icon} />}
        onClick={() => open({ kind: 'check', credential })}
      >
        Check
      </GuardedMenuItem>
      <GuardedMenuItem
        permission="credential:edit"
        scope={scope}
        leftSection={<Pencil {...icon} />}
        onClick={() => open({ kind: 'edit', credential })}
      >
        {credential.provider.code === 'ssh' ? 'Edit' : 'Edit or replace the token'}
      </GuardedMenuItem>
      <GuardedMenuItem
        color="red"
        permission="credential:remove"
        scope={scope}
        leftSection={<Trash2 {...icon} />}
        onClick={() => open({ kind: 'remove', credential })}
      >
        Remove
      </GuardedMenuItem>
    </MoreMenu>
  )
}
