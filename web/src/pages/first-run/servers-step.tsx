import { Button, Checkbox, Group, Stack } from '@mantine/core'
import { Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { queryKeys, useAll, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { ConnectionCheck } from '#web/resources/servers/check-result.tsx'
import { ServerFields } from '#web/resources/servers/server-fields.tsx'
import {
  NEW_SERVER,
  type ServerRecord,
  type ServerValues,
  serverBody,
} from '#web/resources/servers/server-input.ts'
import classes from './first-run.module.css'

type ServersStepProps = {
  environment: Environment
  /** Ids as text. */
  selected: string[]
  select(ids: string[]): void
  next(): void
}

/** The servers that the application runs on; new ones are added and tested here. */
export function ServersStep({ environment, selected, select, next }: ServersStepProps) {
  const query = useAll(queryKeys.servers(environment.id), '/environments/{id}/servers', {
    params: { path: { id: environment.id } },
  })
  const [isAdding, setAdding] = useState(false)
  const [added, setAdded] = useState<number[]>([])
  const only = query.data?.length === 1 ? query.data[0] : undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is loaded; people may deselect it
  useEffect(() => {
    if (only && selected.length === 0) select([String(only.id)])
  }, [only?.id])
  return (
    <Loaded query={query} what="servers">
      {(servers) => {
        const known = selected.filter((id) => servers.some((server) => String(server.id) === id))
        return (
          <Stack gap="md">
            {servers.length > 0 && (
              <Checkbox.Group label="Runs on" value={known} onChange={select}>
                <Stack gap="sm" mt="xs">
                  {servers.map((server) => (
                    <ServerChoice
                      key={server.id}
                      server={server}
                      environment={environment}
                      isNew={added.includes(server.id)}
                    />
                  ))}
                </Stack>
              </Checkbox.Group>
            )}
            {isAdding || servers.length === 0 ? (
              <AddServer
                environment={environment}
                cancel={servers.length === 0 ? undefined : () => setAdding(false)}
                onAdded={(server) => {
                  setAdding(false)
                  setAdded([...added, server.id])
                  select([...known, String(server.id)])
                }}
              />
            ) : (
              <Group justify="space-between">
                <GuardedButton
                  permission="server:add"
                  scope={environmentScope(environment)}
                  variant="default"
                  icon={Plus}
                  onClick={() => setAdding(true)}
                >
                  Add another server
                </GuardedButton>
                <Button onClick={next} disabled={known.length === 0}>
                  Continue
                </Button>
              </Group>
            )}
          </Stack>
        )
      }}
    </Loaded>
  )
}

type ServerChoiceProps = { server: ServerRecord; environment: Environment; isNew: boolean }

function ServerChoice({ server, environment, isNew }: ServerChoiceProps) {
  const where = server.provider_code === 'local' ? 'This machine' : `${server.login_name}@${server.host}`
  return (
    <Stack gap="xs">
      <Checkbox
        value={String(server.id)}
        label={server.name}
        description={`${where}, ${server.root_directory}`}
      />
      {isNew && (
        <div className={classes.check}>
          <ConnectionCheck server={server} scope={environmentScope(environment)} isAutomatic />
        </div>
      )}
    </Stack>
  )
}

type AddServerProps = {
  environment: Environment
  cancel: (() => void) | undefined
  onAdded(server: ServerRecord): void
}

function AddServer({ environment, cancel, onAdded }: AddServerProps) {
  const api = useApi()
  const refetch = useRefetch()
  const form = useRecordForm<ServerValues, ServerRecord>({
    id: `server-new-${environment.id}`,
    initial: NEW_SERVER,
    save: (values) =>
      api.post('/environments/{id}/servers', {
        params: { path: { id: environment.id } },
        body: serverBody(values),
      }),
    async onSaved(server) {
      await refetch(queryKeys.servers(environment.id))
      onAdded(server)
    },
  })
  return (
    <RecordForm form={form} submit="Add server" cancel={cancel && (() => form.leaveBy(cancel))}>
      <Dimmed>
        Gantry connects to the server, or uses the machine it runs on, and deploys into a folder there.
      </Dimmed>
      <ServerFields form={form} organizationId={environment.project.organization.id} isNew />
    </RecordForm>
  )
}
