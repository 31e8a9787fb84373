import { Text } from '@mantine/core'
import type { ChosenPipeline } from '../pipeline-field.tsx'

/** `pipeline` is undefined until one is chosen. */
export default function NewOutgoingHook(_: { pipeline: ChosenPipeline | undefined }) {
  return <Text className="dimmed">Outgoing hooks are created through the API.</Text>
}
