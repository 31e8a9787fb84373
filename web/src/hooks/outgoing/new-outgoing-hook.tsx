import { Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { Receiver } from '../../api/types.ts'
import { Loaded } from '../../ui/page.tsx'
import { SectionCard } from '../../ui/parts.tsx'
import type { ChosenPipeline } from '../pipeline-field.tsx'
import { CreatedHook, type CreatedHookProps } from './created-hook.tsx'
import { ReceiverForm } from './receiver-form.tsx'
import { ReceiverTiles } from './receiver-tiles.tsx'
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
        <Text size="sm" className="dimmed" mb="md" maw="48rem">
          {receiver.description}
        </Text>
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
