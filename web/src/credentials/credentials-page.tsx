import { Badge, Group, Table } from '@mantine/core'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { GantryError } from '#client/index.ts'
import { CopyAs } from '../copy-as/copy-as.tsx'
import { NoOrganization } from '../scope/each-environment.tsx'
import { useOrganizations } from '../scope/tree.ts'
import { useOrganizationId } from '../scope/use-organization-id.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { GuardedButton } from '../ui/guarded-button.tsx'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { DataTable } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'
import { AddCredentialDialog } from './add-credential-dialog.tsx'
import { CheckCredentialDialog } from './check-credential-dialog.tsx'
import { CredentialMenu } from './credential-menu.tsx'
import { type Credential, useCredentials } from './credentials.ts'
import { EditCredentialDialog } from './edit-credential-dialog.tsx'
import { RemoveCredentialDialog } from './remove-credential-dialog.tsx'
import { ShowKeyDialog } from './show-key-dialog.tsx'
import { UsedBy } from './used-by.tsx'

export type OpenDialog = { kind: 'edit' | 'check' | 'remove' | 'key'; credential: Credential }

export default function CredentialsPage() {
  const id = useOrganizationId()
  const organizations = useOrganizations()
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <PageHeader title="Credentials">
        {id !== undefined && (
          <GuardedButton
            permission="credential:add"
            scope={{ organization: id }}
            leftSection={<Plus size={16} strokeWidth={1.75} aria-hidden="true" />}
            onClick={() => setAdding(true)}
          >
            Add credential
          </GuardedButton>
        )}
      </PageHeader>
      <Loaded query={organizations} what="organizations">
        {() =>
          id === undefined ? (
            <NoOrganization />
          ) : (
            <CredentialList organizationId={id} add={() => setAdding(true)} />
          )
        }
      </Loaded>
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
          {credentials.length === 0 ? (
            <EmptyState
              icon={KeyRound}
              title="No credentials yet"
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
              A credential is a token for private repositories, or an SSH key for servers. Gantry stores it
              encrypted and never shows it again.
            </EmptyState>
          ) : (
            <DataTable columns={['Name', 'Provider', 'Used by', 'Last used', '']} aria-label="Credentials">
              {credentials.map((credential) => (
                <Table.Tr key={credential.id}>
                  <Table.Td className="wrap name-cell">
                    <Group gap="xs">
                      {credential.name}
                      {!credential.active && (
                        <Badge variant="default" size="sm">
                          Inactive
                        </Badge>
                      )}
                    </Group>
                  </Table.Td>
                  <Table.Td className="wrap dimmed">{providerText(credential)}</Table.Td>
                  <Table.Td className="wrap dimmed status-cell">
                    <UsedBy credential={credential} />
                  </Table.Td>
                  <Table.Td className="numeric dimmed">
                    {credential.last_action ? (
                      <Link href={`/actions/${credential.last_action.id}`}>
                        <Age of={credential.last_action.created_at} />
                      </Link>
                    ) : (
                      'Never'
                    )}
                  </Table.Td>
                  <Table.Td ta="right">
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      <CopyAs
                        isCompact
                        resource={{
                          type: 'credential',
                          id: credential.id,
                          name: credential.name,
                          organizationId,
                        }}
                      />
                      <CredentialMenu credential={credential} open={setOpen} />
                    </Group>
                  </Table.Td>
                </Table.Tr>
              ))}
            </DataTable>
          )}
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

function providerText({ provider, base_url, username, provider_auth_type }: Credential): string {
  const host = base_url && (URL.parse(base_url)?.host ?? base_url)
  const token = provider_auth_type === 'none' ? 'no token' : null
  const name = provider.code === 'ssh' ? 'SSH key' : provider.code_human_readable
  return [name, host, username, token].filter(Boolean).join(' · ')
}
