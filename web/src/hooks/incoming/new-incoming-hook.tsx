import { Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { Loaded } from '../../ui/page.tsx'
import { SectionCard } from '../../ui/parts.tsx'
import type { ChosenPipeline } from '../pipeline-field.tsx'
import { HookCreated } from './hook-created.tsx'
import type { Sender, SenderValues } from './new-hook-body.ts'
import { SenderForm } from './sender-form.tsx'
import { SenderTiles } from './sender-tiles.tsx'

function useSenders() {
  const api = useApi()
  return useQuery({
    queryKey: queryKeys.senders,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => api.get('/catalog/senders', { signal }),
  })
}

type NewIncomingHookProps = { pipeline: ChosenPipeline | undefined; onCreated?(): void }

/** Tile → fields → URL and secret. `pipeline` is undefined until one is chosen. */
export default function NewIncomingHook({ pipeline, onCreated }: NewIncomingHookProps) {
  const senders = useSenders()
  const [sender, setSender] = useState<Sender>()
  const [created, setCreated] = useState<{ hook: Hook; values: SenderValues }>()
  if (created && sender) return <HookCreated sender={sender} {...created} />
  if (sender)
    return (
      <SectionCard id="sender" title={`Calls from ${sender.name}`}>
        <Stack gap="md" maw="32rem">
          <Text size="sm" className="dimmed">
            {sender.description}
          </Text>
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
    <section aria-labelledby="senders">
      <Group mb="xs">
        <Title order={2} size="h4" id="senders">
          Who calls?
        </Title>
      </Group>
      <Loaded query={senders} what="senders">
        {(all) => <SenderTiles senders={all} choose={setSender} />}
      </Loaded>
    </section>
  )
}
