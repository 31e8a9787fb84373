import { PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import {
  Activity,
  Bug,
  Container,
  CreditCard,
  GitBranch,
  ListTodo,
  LockOpen,
  type LucideIcon,
  MessageSquare,
  ShoppingBag,
  SquareTerminal,
  Webhook,
} from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useGet, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, SectionCard } from '#web/base/ui/parts.tsx'
import type { ChosenPipeline } from '#web/resources/hooks/pipeline-field.tsx'
import { Tiles } from '#web/resources/hooks/tiles.tsx'
import { type CreatedFromRepository, FromRepository } from './from-repository.tsx'
import { HookCreated } from './hook-created.tsx'
import {
  hiddenFields,
  initialValues,
  missingFields,
  newHookBody,
  type Sender,
  type SenderValues,
  senderInputOf,
} from './new-hook-body.ts'
import { RepositoryCreated } from './repository-created.tsx'

function useSenders() {
  return useGet(queryKeys.senders, '/catalog/senders', { staleTime: Number.POSITIVE_INFINITY })
}

type NewIncomingHookProps = { pipeline: ChosenPipeline | undefined; onCreated?(): void }

/** Tile → fields → URL and secret. `pipeline` is undefined until one is chosen. */
export default function NewIncomingHook({ pipeline, onCreated }: NewIncomingHookProps) {
  const senders = useSenders()
  const [sender, setSender] = useState<Sender>()
  const [created, setCreated] = useState<{ hook: Hook; values: SenderValues }>()
  const [fromRepository, setFromRepository] = useState<CreatedFromRepository>()
  if (fromRepository) return <RepositoryCreated {...fromRepository} />
  if (created && sender) return <HookCreated sender={sender} {...created} />
  if (sender)
    return (
      <SectionCard id="sender" title={`Calls from ${sender.name}`}>
        <Stack gap="md" maw="32rem">
          <Dimmed>{sender.description}</Dimmed>
          <SenderForm
            key={sender.code}
            sender={sender}
            pipeline={pipeline}
            back={() => setSender(undefined)}
            onCreated={(hook, values) => {
              setCreated({ hook, values })
              onCreated?.()
            }}
          />
        </Stack>
      </SectionCard>
    )
  return (
    <Loaded query={senders} what="senders">
      {(all) => (
        <Stack gap="lg">
          {pipeline && (
            <FromRepository
              key={pipeline.id}
              pipeline={pipeline}
              senders={all}
              onCreated={(hook) => {
                setFromRepository(hook)
                onCreated?.()
              }}
            />
          )}
          <section aria-labelledby="senders">
            <Title order={2} size="h4" id="senders" mb="xs">
              Who calls?
            </Title>
            <SenderTiles senders={all} choose={setSender} />
          </section>
        </Stack>
      )}
    </Loaded>
  )
}

type SenderFormProps = {
  sender: Sender
  pipeline: ChosenPipeline | undefined
  back?: (() => void) | undefined
  onCreated(hook: Hook, values: SenderValues): void
}

/** Only what the sender needs; its tile has the rest. */
function SenderForm({ sender, pipeline, back, onCreated }: SenderFormProps) {
  const api = useApi()
  const refetch = useRefetch()
  const form = useRecordForm<SenderValues, Hook>({
    id: `hook-new-${sender.code}`,
    initial: initialValues(sender),
    secrets: hiddenFields(sender) as (keyof SenderValues & string)[],
    validate: (values) => missingFields(sender, values),
    fields: senderInputOf,
    save: (values) => {
      const params = { path: { id: pipeline!.id } }
      return api.post('/pipelines/{id}/hooks/incoming', { params, body: newHookBody(sender, values) })
    },
    onSaved(hook, values) {
      void refetch(queryKeys.hooks(hook.pipeline_id), queryKeys.environmentHooks(hook.environment_id))
      onCreated(hook, values)
    },
  })
  const { allowed, reason } = usePermission('hook:add', pipeline?.scope)
  const isKnown = pipeline?.scope !== undefined
  return (
    <RecordForm
      form={form}
      submit="Create hook"
      cancel={back && (() => form.leaveBy(back))}
      reason={pipeline ? (isKnown && !allowed ? reason : undefined) : 'Choose a pipeline first.'}
    >
      <TextInput label="Name" {...form.field('name')} />
      {sender.fields.map(({ name, label, description, required, example, hidden }) => {
        const Field = hidden ? PasswordInput : TextInput
        return (
          <Field
            key={name}
            label={required ? label : `${label}, optional`}
            description={description}
            placeholder={hidden ? undefined : (example ?? undefined)}
            autoComplete={hidden ? 'new-password' : 'off'}
            {...form.field(`field_${name}`)}
          />
        )
      })}
    </RecordForm>
  )
}

const ICONS: Record<string, LucideIcon> = {
  github: GitBranch,
  gitlab: GitBranch,
  gitea: GitBranch,
  forgejo: GitBranch,
  bitbucket: GitBranch,
  shopify: ShoppingBag,
  sentry: Bug,
  linear: ListTodo,
  grafana: Activity,
  stripe: CreditCard,
  slack: MessageSquare,
  docker_hub: Container,
  generic: SquareTerminal,
  unsigned: LockOpen,
}

type SenderTilesProps = { senders: Sender[]; choose(sender: Sender): void }

function SenderTiles({ senders, choose }: SenderTilesProps) {
  return (
    <Tiles
      label="Senders"
      services={senders}
      iconOf={({ code }) => ICONS[code] ?? Webhook}
      textOf={({ description }) => description}
      choose={choose}
    />
  )
}
