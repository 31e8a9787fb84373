import { Server } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { environmentScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { plural } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import { ServerFields } from '#web/resources/servers/server-fields.tsx'
import {
  connectionOf,
  NEW_SERVER,
  SERVER_LABELS,
  type ServerRecord,
  type ServerValues,
  serverBody,
} from '#web/resources/servers/server-input.ts'
import { useInventoryChanged, useServers } from '#web/resources/servers/servers.ts'
import { AddDialog, type NewInEnvironment } from '#web/shared/scope/add-dialog.tsx'
import { EachEnvironment } from '#web/shared/scope/each-environment.tsx'
import { LatestRun, useLatestRuns } from '#web/shared/scope/latest-run.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { AddButton } from '#web/shared/scope/start-here.tsx'

type Adding = { environmentId?: number }

const EMPTY = {
  icon: Server,
  title: 'No servers yet',
  text: 'A server is where applications run: this machine, or one that Gantry reaches over SSH.',
}

/** `?add=1` opens the dialog. */
export default function ServersPage() {
  const [search, update] = useSearch()
  const [adding, setAdding] = useState<Adding>()
  function close(): void {
    setAdding(undefined)
    if (search.has('add')) update({ add: undefined }, true)
  }
  return (
    <>
      <PageHeader title="Servers">
        <AddButton permission="server:add" needs="environment" onClick={() => setAdding({})}>
          Add server
        </AddButton>
      </PageHeader>
      <EachEnvironment empty={EMPTY}>
        {(environment) => (
          <EnvironmentServers
            environment={environment}
            add={() => setAdding({ environmentId: environment.id })}
          />
        )}
      </EachEnvironment>
      {(adding || search.has('add')) && <AddServerDialog {...adding} close={close} />}
    </>
  )
}

function EnvironmentServers({ environment, add }: { environment: Environment; add(): void }) {
  const runs = useLatestRuns(environment.id, 'server')
  const { project } = environment
  const scope = environmentScope(environment)
  return (
    <Loaded query={useServers(environment.id)} what="servers">
      {(servers) => (
        <RowTable
          label={`Servers of ${project.name} / ${environment.name}`}
          rows={servers}
          highlightOnHover
          columns={[
            ['Name', 'wrap name-cell', ({ id, name }) => <Link href={`/servers/${id}`}>{name}</Link>],
            ['Connection', 'wrap', connectionOf],
            ['Root directory', 'wrap dimmed', ({ root_directory }) => <code>{root_directory}</code>],
            ['Applications', 'numeric dimmed', (one) => plural(one.linked_resources.length, 'application')],
            [
              'Last run',
              'status-cell',
              ({ id }) => (
                <LatestRun run={runs?.newest.get(id)} isRecentOnly={runs?.isRecentOnly} scope={scope} />
              ),
            ],
          ]}
          empty={
            <EmptyState
              {...EMPTY}
              isCompact
              action={
                <GuardedButton variant="default" permission="server:add" scope={scope} onClick={add}>
                  Add server
                </GuardedButton>
              }
            >
              {EMPTY.text}
            </EmptyState>
          }
        />
      )}
    </Loaded>
  )
}

type AddServerDialogProps = { environmentId?: number | undefined; close(): void }

function AddServerDialog({ environmentId, close }: AddServerDialogProps) {
  return (
    <AddDialog type="server" environmentId={environmentId} close={close}>
      {(chosen) => <AddServerForm {...chosen} close={close} />}
    </AddDialog>
  )
}

type AddServerFormProps = NewInEnvironment & { close(): void }

function AddServerForm({ choice, reason, environmentField, close }: AddServerFormProps) {
  const api = useApi()
  const changed = useInventoryChanged()
  const [, navigate] = useLocation()
  const form = useRecordForm<ServerValues, ServerRecord>({
    id: 'server-new',
    initial: NEW_SERVER,
    save: (values) =>
      api.post('/environments/{id}/servers', {
        params: { path: { id: choice.environment } },
        body: serverBody(values),
      }),
    onSaved({ id, name }) {
      close()
      notify.done(`Server ${name} added.`)
      void changed()
      // Its page tests the connection at once.
      navigate(`/servers/${id}`, { state: { isNew: true } })
    },
  })
  return (
    <FormDialog
      title="Add server"
      form={form}
      submit="Add server"
      labels={SERVER_LABELS}
      reason={reason}
      close={close}
    >
      {/* Credentials belong to one organization. */}
      {environmentField(() => form.set('credential_id', ''))}
      <ServerFields form={form} organizationId={choice.organization} isNew />
    </FormDialog>
  )
}
