import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { useOrganizations, useProject } from '../scope/tree.ts'
import { ConfirmChange } from '../ui/confirm-change.tsx'
import { formatDate } from '../ui/format.ts'
import { Item, ItemList } from '../ui/item-list.tsx'
import { Loaded } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'
import { CreateTokenDialog } from './create-token-dialog.tsx'
import { scopesLabel } from './token-input.ts'

type Token = Data<'get', '/users/personal-access-tokens'>[number]

export function TokensSection() {
  const api = useApi()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Token>()
  const query = useQuery({
    queryKey: queryKeys.personalTokens,
    queryFn: ({ signal }) => api.all('/users/personal-access-tokens', { signal }),
  })
  return (
    <SectionCard id="tokens" title="Personal access tokens">
      <Text className="dimmed" size="sm">
        For scripts and CI. A token acts as you, within its scopes.
      </Text>
      <Loaded query={query} what="tokens">
        {(tokens) => (
          <ItemList>
            {tokens.map((token) => (
              <Item
                key={token.id}
                title={token.name}
                action={
                  <Button
                    variant="default"
                    size="xs"
                    onClick={() => setRevoking(token)}
                    aria-label={`Revoke ${token.name}`}
                  >
                    Revoke
                  </Button>
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
        {organization_ids && (
          <>
            {' · only '}
            <Names>
              {organization_ids.map((id) => (
                <OrganizationName key={id} id={id} />
              ))}
            </Names>
          </>
        )}
        {project_ids && (
          <>
            {' · only '}
            <Names>
              {project_ids.map((id) => (
                <ProjectName key={id} id={id} />
              ))}
            </Names>
          </>
        )}
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

function Names({ children }: { children: React.ReactNode[] }) {
  return children.map((name, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
    <span key={index}>
      {index > 0 && ', '}
      {name}
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
  return (
    <ConfirmChange
      title={`Revoke ${token.name}?`}
      button="Revoke"
      color="red"
      done={`Token ${token.name} revoked.`}
      invalidates={queryKeys.personalTokens}
      change={() => api.delete('/users/personal-access-tokens/{id}', { params: { path: { id: token.id } } })}
      close={close}
    >
      Anything that uses this token stops working immediately. It cannot be restored.
    </ConfirmChange>
  )
}
