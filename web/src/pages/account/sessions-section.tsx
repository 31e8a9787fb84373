import { Badge, Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys, useAll, useApi, useRefetch } from '#web/base/api/queries.ts'
import { useSession } from '#web/base/session/session.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Item, ItemButton, ItemList, SectionCard } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { describeUserAgent } from './user-agent.ts'

type Login = Data<'get', '/users/me/sessions'>[number]

export function SessionsSection() {
  const api = useApi()
  const refetch = useRefetch()
  const [isConfirming, setConfirming] = useState(false)
  const query = useAll(queryKeys.sessions, '/users/me/sessions', {})
  const end = useMutation({
    mutationFn: (id: number) => api.delete('/users/me/sessions/{id}', { params: { path: { id } } }),
    onSettled: () => refetch(queryKeys.sessions),
  })
  return (
    <SectionCard id="sessions" title="Sessions">
      <Dimmed>
        Where you are signed in. Revoke a session that you do not recognize, and change your password.
      </Dimmed>
      {end.error && <ErrorAlert error={end.error} />}
      <Loaded query={query} what="sessions">
        {(sessions) => (
          <ItemList>
            {sessions.map((session) => (
              <SessionItem
                key={session.id}
                session={session}
                isEnding={end.isPending && end.variables === session.id}
                end={() => end.mutate(session.id)}
              />
            ))}
          </ItemList>
        )}
      </Loaded>
      <Button variant="outline" color="red" onClick={() => setConfirming(true)}>
        Sign out everywhere
      </Button>
      {isConfirming && <EndAll close={() => setConfirming(false)} />}
    </SectionCard>
  )
}

type SessionItemProps = { session: Login; isEnding: boolean; end(): void }

function SessionItem({ session, isEnding, end }: SessionItemProps) {
  const { kind, current, ip_address, user_agent, created_at, last_used_at } = session
  const client = describeUserAgent(user_agent)
  return (
    <Item
      title={
        <>
          <span title={user_agent ?? undefined}>{client}</span>
          {current && <Badge variant="light">This session</Badge>}
        </>
      }
      action={
        !current && (
          <ItemButton label={`Revoke session: ${client}`} isPending={isEnding} onClick={end}>
            Revoke
          </ItemButton>
        )
      }
    >
      {kind === 'browser' ? 'Browser' : 'API login'}
      {ip_address !== null && ` · ${ip_address}`}
      {' · last used '}
      <Age of={last_used_at} />
      {' · signed in '}
      <Age of={created_at} />
    </Item>
  )
}

function EndAll({ close }: { close(): void }) {
  const api = useApi()
  const { leave } = useSession()
  return (
    <ConfirmDialog
      title="Sign out everywhere?"
      button="Sign out everywhere"
      color="red"
      act={() => api.post('/users/me/sessions/end-all')}
      show={leave}
      close={close}
    >
      Ends all of your sessions, this one included. Personal access tokens keep working.
    </ConfirmDialog>
  )
}
