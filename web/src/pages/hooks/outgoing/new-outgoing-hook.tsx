import { Alert, Text, TextInput, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { entrySteps } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Hook, Receiver } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { usePermissions } from '#web/base/session/permissions.ts'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, SectionCard } from '#web/base/ui/parts.tsx'
import { useSourceProvider } from '#web/resources/applications/applications.ts'
import type { ChosenPipeline } from '#web/resources/hooks/pipeline-field.tsx'
import { CreatedHook, type CreatedHookProps } from './created-hook.tsx'
import { LinksAlert } from './hook-alerts.tsx'
import classes from './outgoing.module.css'
import { HookCredentialField, ReceiverField } from './receiver-fields.tsx'
import { ReceiverTiles } from './receiver-tiles.tsx'
import {
  hiddenFields,
  hookOf,
  initialValues,
  inputOf,
  needsApplication,
  type ReceiverValues,
  takesOwnCredential,
  validateReceiver,
} from './receiver-values.ts'
import { useReceivers } from './receivers.ts'

type NewOutgoingHookProps = { pipeline: ChosenPipeline | undefined; onCreated?(): void }

/** Tile → the fields that differ → the page of the hook. `pipeline` is undefined until one is chosen. */
export default function NewOutgoingHook({ pipeline, onCreated }: NewOutgoingHookProps) {
  const [receiver, setReceiver] = useState<Receiver>()
  const [created, setCreated] = useState<CreatedHookProps>()
  const receivers = useReceivers()
  if (created) return <CreatedHook {...created} />
  if (receiver)
    return (
      <SectionCard id="receiver" title={`Notify ${receiver.name}`}>
        <Dimmed mb="md" maw="48rem">
          {receiver.description}
        </Dimmed>
        <ReceiverForm
          key={receiver.code}
          receiver={receiver}
          pipeline={pipeline}
          back={() => setReceiver(undefined)}
          onUnseen={(made) => {
            setCreated(made)
            onCreated?.()
          }}
        />
      </SectionCard>
    )
  return (
    <section aria-labelledby="receivers">
      <Title order={2} size="h4" id="receivers" mb="xs">
        Who is notified?
      </Title>
      <Loaded query={receivers} what="receivers">
        {(all) => <ReceiverTiles receivers={all} choose={setReceiver} />}
      </Loaded>
    </section>
  )
}

const HANDED_OVER_WITHIN_MS = 15_000

type ReceiverFormProps = {
  receiver: Receiver
  pipeline: ChosenPipeline | undefined
  back(): void
  /** The person may add hooks, but not see them: there is no page to go to. */
  onUnseen(created: CreatedHookProps): void
}

function ReceiverForm({ receiver, pipeline, back, onUnseen }: ReceiverFormProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const may = usePermissions()
  const { credential_provider: provider, uses_access_token } = receiver
  const applicationId = pipeline?.resourceType === 'application' ? pipeline.resourceId : undefined
  const takesOwn = takesOwnCredential(receiver, useSourceProvider(applicationId))
  const form = useRecordForm<ReceiverValues, Hook>({
    id: `outgoing-hook-new-${receiver.code}`,
    initial: initialValues(receiver),
    secrets: hiddenFields(receiver),
    validate: (values) => validateReceiver(receiver, values, takesOwn),
    fields: (field) => inputOf(receiver, field),
    save: (values) =>
      api.post('/pipelines/{id}/hooks/outgoing', {
        params: { path: { id: pipeline!.id } },
        body: hookOf(receiver, values),
      }),
    onSaved(hook) {
      notify.done(`Hook ${hook.name} added.`)
      const created = { hook, secret: hook.secret, receiver }
      if (!pipeline?.scope || !may('hook:view', pipeline.scope)) return onUnseen(created)
      void queries.invalidateQueries({ queryKey: queryKeys.hooks(hook.pipeline_id) })
      void queries.invalidateQueries({ queryKey: queryKeys.environmentHooks(hook.environment_id) })
      // Handed to the page of the hook in memory: the secret is shown once, and stored nowhere. If that page does not
      // open, it is forgotten.
      queries.setQueryDefaults(queryKeys.createdHook(hook.id), { gcTime: HANDED_OVER_WITHIN_MS })
      queries.setQueryData(queryKeys.createdHook(hook.id), created)
      navigate(`/hooks/outgoing/${hook.id}`)
    },
  })
  return (
    <div className={classes.receiver}>
      <RecordForm
        form={form}
        submit="Create hook"
        cancel={() => form.leaveBy(back)}
        reason={reasonNot(receiver, pipeline, may)}
      >
        {provider !== null && (
          <HookCredentialField
            provider={provider}
            organizationId={pipeline?.scope?.organization}
            isEarly={pipeline === undefined}
            takesOwn={takesOwn}
            // Choosing a receiver continues here.
            autoFocus
            value={form.values.credential_id}
            onChange={(id) => form.set('credential_id', id)}
            error={form.errors.credential_id}
          />
        )}
        {receiver.fields.map((field, index) => (
          <ReceiverField
            key={field.name}
            field={field}
            input={form.field(`fields.${field.name}`)}
            autoFocus={provider === null && index === 0}
          />
        ))}
        <TextInput label="Name" maxLength={60} {...form.field('name')} />
        <LinksAlert />
        {uses_access_token && provider === null && (
          <Alert color="blue">
            The hook sends the token of the application’s credential, on your behalf. This requires the
            permission credential:run.
          </Alert>
        )}
      </RecordForm>
      <div>
        <Text size="sm" fw={600} mb={4}>
          At {receiver.code === 'generic' ? 'the receiver' : receiver.name}
        </Text>
        <ol className={classes.steps}>
          {entrySteps(receiver, { secret: 'that is shown next' }).map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </div>
    </div>
  )
}

/** Only what is known for sure: the API decides. */
function reasonNot(
  receiver: Receiver,
  pipeline: ChosenPipeline | undefined,
  may: ReturnType<typeof usePermissions>,
): string | undefined {
  if (!pipeline) return 'Choose a pipeline first.'
  if (needsApplication(receiver) && pipeline.resourceType === 'server')
    return 'Reports on commits need an application: this pipeline belongs to a server.'
  if (!pipeline.scope || may('hook:add', pipeline.scope)) return undefined
  return 'Your role does not include hook:add. Ask an administrator of the organization for it.'
}
