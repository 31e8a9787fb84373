import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys, useAll, useApi, useRefetch } from '#web/base/api/queries.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { formatDate } from '#web/base/ui/format.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Item, ItemButton, ItemList, SectionCard } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useOrganizations, useProject } from '#web/shared/scope/tree.ts'
import { CreateTokenDialog } from './create-token-dialog.tsx'
import { scopesLabel } from './token-input.ts'

type Token = Data<'get', '/users/personal-access-tokens'>[number]

export function TokensSection() {
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token>()
  const query = useAll(queryKeys.personalTokens, '/users/personal-access-tokens', {})
  return (
    <SectionCard id="tokens" title="Personal access tokens">
      <Dimmed>For scripts and CI. A token acts as you, within its scopes.</Dimmed>
      <Loaded query={query} what="tokens">
        {(tokens) => (
          <ItemList>
            {tokens.map((token) => (
              <Item
                key={token.id}
                title={token.name}
                action={
                  <ItemButton label={`Revoke ${token.name}`} onClick={() => setRevoking(token)}>
                    Revoke
                  </ItemButton>
                }
              >
                <TokenDetails token={token} />
              </Item>
            ))}
          </ItemList>
        )}
      </Loaded>
      <Button variant="default" onClick={() => setCreating(true)}>
        New token
      </Button>
      {isCreating && <CreateTokenDialog close={() => setCreating(false)} />}
      {revoking && <Revoke token={revoking} close={() => setRevoking(undefined)} />}
    </SectionCard>
  )
}

function TokenDetails({ token }: { token: Token }) {
  const { scopes, organization_ids, project_ids, expires_at, last_used_at, last_used_ip } = token
  return (
    <>
      <div>
        Scopes: {scopesLabel(scopes)}
        {organization_ids && <Only ids={organization_ids} Name={OrganizationName} />}
        {project_ids && <Only ids={project_ids} Name={ProjectName} />}
      </div>
      <div>
        <Expiry at={expires_at} />
        {' · '}
        {last_used_at === null ? (
          'never used'
        ) : (
          <>
            last used <Age of={last_used_at} />
            {last_used_ip !== null && ` from ${last_used_ip}`}
          </>
        )}
      </div>
    </>
  )
}

type OnlyProps = { ids: number[]; Name(props: { id: number }): string }

function Only({ ids, Name }: OnlyProps) {
  return ids.map((id, index) => (
    <span key={id}>
      {index === 0 ? ' · only ' : ', '}
      <Name id={id} />
    </span>
  ))
}

/** By name, once it is known and if the person may see it. */
function OrganizationName({ id }: { id: number }) {
  return useOrganizations().data?.find((one) => one.id === id)?.name ?? `organization ${id}`
}

function ProjectName({ id }: { id: number }) {
  return useProject(id).data?.name ?? `project ${id}`
}

function Expiry({ at }: { at: string | null }) {
  if (at === null) return 'Does not expire'
  const hasExpired = Date.parse(at) <= Date.now()
  return (
    <time dateTime={at}>
      {hasExpired ? 'Expired' : 'Expires'} {formatDate(at)}
    </time>
  )
}

function Revoke({ token, close }: { token: Token; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title={`Revoke ${token.name}?`}
      button="Revoke"
      color="red"
      done={`Token ${token.name} revoked.`}
      onDone={() => refetch(queryKeys.personalTokens)}
      act={() => api.delete('/users/personal-access-tokens/{id}', { params: { path: { id: token.id } } })}
      close={close}
    >
      Anything that uses this token stops working immediately. It cannot be restored.
    </ConfirmDialog>
  )
}
