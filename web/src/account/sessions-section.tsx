import { Badge, Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { useSession } from '../session/session.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { Item, ItemList } from '../ui/item-list.tsx'
import { ErrorAlert, Loaded } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { Age } from '../ui/time.tsx'
import { describeUserAgent } from './user-agent.ts'

type Login = Data<'get', '/users/me/sessions'>[number]

export function SessionsSection() {
  const api = useApi()
  const queries = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  const query = useQuery({
    queryKey: queryKeys.sessions,
    queryFn: ({ signal }) => api.all('/users/me/sessions', { signal }),
  })
  const end = useMutation({
    mutationFn: (id: number) => api.delete('/users/me/sessions/{id}', { params: { path: { id } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: queryKeys.sessions }),
  })
  return (
    <SectionCard id="sessions" title="Sessions">
      <Text className="dimmed" size="sm">
        Where you are signed in. Revoke a session that you do not recognize, and change your password.
      </Text>
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
          <Button
            variant="default"
            size="xs"
            loading={isEnding}
            onClick={end}
            aria-label={`Revoke session: ${client}`}
          >
            Revoke
          </Button>
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
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => api.post('/users/me/sessions/end-all'),
    onSuccess: leave,
  })
  return (
    <ConfirmDialog
      title="Sign out everywhere?"
      button="Sign out everywhere"
      color="red"
      isPending={isPending}
      error={error}
      confirm={mutate}
      close={close}
    >
      <Text size="sm">
        Ends all of your sessions, this one included. Personal access tokens keep working.
      </Text>
    </ConfirmDialog>
  )
}
