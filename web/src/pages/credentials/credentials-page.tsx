import { Badge, Group, Menu } from '@mantine/core'
import { KeyRound, Pencil, PlugZap, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { GantryError } from '#client/index.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { ICON } from '#web/base/ui/icon.ts'
import { GuardedMenuItem, MoreMenu, RemoveMenuItem } from '#web/base/ui/menus.tsx'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { RowTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { type Credential, useCredentials } from '#web/resources/credentials/credentials.ts'
import { CopyAs } from '#web/shared/copy-as/copy-as.tsx'
import { StartHere } from '#web/shared/scope/start-here.tsx'
import { useOrganizationId } from '#web/shared/scope/tree.ts'
import { CheckCredentialDialog } from './check-credential-dialog.tsx'
import {
  AddCredentialDialog,
  EditCredentialDialog,
  RemoveCredentialDialog,
  ShowKeyDialog,
} from './credential-dialogs.tsx'
import { UsedBy } from './used-by.tsx'

const EMPTY = {
  icon: KeyRound,
  title: 'No credentials yet',
  text: 'A credential is a token for private repositories, or an SSH key for servers. Gantry stores it encrypted and never shows it again.',
}

type OpenDialog = { kind: 'edit' | 'check' | 'remove' | 'key'; credential: Credential }

export default function CredentialsPage() {
  const id = useOrganizationId()
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <PageHeader title="Credentials">
        {id !== undefined && (
          <GuardedButton
            permission="credential:add"
            scope={{ organization: id }}
            icon={Plus}
            onClick={() => setAdding(true)}
          >
            Add credential
          </GuardedButton>
        )}
      </PageHeader>
      {id === undefined ? (
        <StartHere {...EMPTY} needs="organization" />
      ) : (
        <CredentialList organizationId={id} add={() => setAdding(true)} />
      )}
      {isAdding && id !== undefined && (
        <AddCredentialDialog organizationId={id} close={() => setAdding(false)} />
      )}
    </>
  )
}

function CredentialList({ organizationId, add }: { organizationId: number; add(): void }) {
  const query = useCredentials(organizationId)
  const [open, setOpen] = useState<OpenDialog>()
  const close = () => setOpen(undefined)
  if (query.error instanceof GantryError && query.error.status === 403)
    return <p className="dimmed">You do not have permission to see the credentials of this organization.</p>
  return (
    <Loaded query={query} what="credentials">
      {(credentials) => (
        <>
          <RowTable
            label="Credentials"
            rows={credentials}
            columns={[
              ['Name', 'wrap name-cell', (credential) => <Name credential={credential} />],
              ['Provider', 'wrap dimmed', providerText],
              ['Used by', 'wrap dimmed status-cell', (credential) => <UsedBy credential={credential} />],
              ['Last used', 'numeric dimmed', ({ last_action }) => <LastUse action={last_action} />],
              [
                '',
                'end-cell',
                (credential) => {
                  const { id, name } = credential
                  return (
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      <CopyAs isCompact resource={{ type: 'credential', id, name, organizationId }} />
                      <CredentialMenu credential={credential} open={setOpen} />
                    </Group>
                  )
                },
              ],
            ]}
            empty={
              <EmptyState
                {...EMPTY}
                action={
                  <GuardedButton
                    variant="default"
                    permission="credential:add"
                    scope={{ organization: organizationId }}
                    onClick={add}
                  >
                    Add credential
                  </GuardedButton>
                }
              >
                {EMPTY.text}
              </EmptyState>
            }
          />
          {open?.kind === 'edit' && (
            <EditCredentialDialog
              credentialId={open.credential.id}
              name={open.credential.name}
              close={close}
            />
          )}
          {open?.kind === 'check' && <CheckCredentialDialog credential={open.credential} close={close} />}
          {open?.kind === 'remove' && <RemoveCredentialDialog credential={open.credential} close={close} />}
          {open?.kind === 'key' && <ShowKeyDialog credential={open.credential} close={close} />}
        </>
      )}
    </Loaded>
  )
}

function Name({ credential: { name, active } }: { credential: Credential }) {
  return (
    <Group gap="xs">
      {name}
      {!active && (
        <Badge variant="default" size="sm">
          Inactive
        </Badge>
      )}
    </Group>
  )
}

function LastUse({ action }: { action: Credential['last_action'] }) {
  if (!action) return 'Never'
  return (
    <Link href={`/actions/${action.id}`}>
      <Age of={action.created_at} />
    </Link>
  )
}

function providerText({ provider, base_url, username, provider_auth_type }: Credential): string {
  const host = base_url && (URL.parse(base_url)?.host ?? base_url)
  const token = provider_auth_type === 'none' ? 'no token' : null
  const name = provider.code === 'ssh' ? 'SSH key' : provider.code_human_readable
  return [name, host, username, token].filter(Boolean).join(' · ')
}

type CredentialMenuProps = { credential: Credential; open(dialog: OpenDialog): void }

function CredentialMenu({ credential, open }: CredentialMenuProps) {
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
        icon={PlugZap}
        onClick={() => open({ kind: 'check', credential })}
      >
        Check
      </GuardedMenuItem>
      <GuardedMenuItem
        permission="credential:edit"
        scope={scope}
        icon={Pencil}
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
