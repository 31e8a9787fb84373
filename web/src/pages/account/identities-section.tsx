import { Alert, Button } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import type { Data } from '#client/index.ts'
import { queryKeys, useApi, useGet, useRefetch } from '#web/base/api/queries.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Item, ItemButton, ItemList, SectionCard } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { singleSignOnProblem } from '#web/pages/sign-in/problems.ts'
import { useIdentityProvider } from '#web/pages/sign-in/sign-in-options.tsx'

type Identity = Data<'get', '/users/me/identities'>[number]

export function IdentitiesSection() {
  const api = useApi()
  const [search] = useSearchParams()
  const problem = singleSignOnProblem(search.get('problem'))
  const [unlinking, setUnlinking] = useState<Identity>()
  const query = useGet(queryKeys.identities, '/users/me/identities', {})
  const { leave, isLeaving, error } = useIdentityProvider(() => api.post('/users/me/identities'))
  return (
    <SectionCard id="identities" title="Single sign-on">
      <Dimmed>Linked identities sign you in to this account.</Dimmed>
      {problem && (
        <Alert color="red" role="alert" title="The identity was not linked" mt="xs">
          {problem}
        </Alert>
      )}
      <Loaded query={query} what="identities">
        {(identities) => (
          <ItemList>
            {identities.map((identity) => (
              <Item
                key={identity.id}
                title={identity.label}
                action={
                  <ItemButton label={`Unlink ${identity.label}`} onClick={() => setUnlinking(identity)}>
                    Unlink
                  </ItemButton>
                }
              >
                {identity.issuer}
                {' · linked '}
                <Age of={identity.created_at} />
                {' · '}
                {identity.last_used_at === null ? (
                  'never used'
                ) : (
                  <>
                    last used <Age of={identity.last_used_at} />
                  </>
                )}
              </Item>
            ))}
          </ItemList>
        )}
      </Loaded>
      {error && <ErrorAlert error={error} />}
      <Button variant="default" loading={isLeaving} onClick={() => leave()}>
        Link an identity
      </Button>
      {unlinking && <Unlink identity={unlinking} close={() => setUnlinking(undefined)} />}
    </SectionCard>
  )
}

function Unlink({ identity, close }: { identity: Identity; close(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title={`Unlink ${identity.label}?`}
      button="Unlink"
      color="red"
      done={`${identity.label} unlinked.`}
      onDone={() => refetch(queryKeys.identities)}
      act={() => api.delete('/users/me/identities/{id}', { params: { path: { id: identity.id } } })}
      close={close}
    >
      It no longer signs you in to this account. You can link it again.
    </ConfirmDialog>
  )
}
