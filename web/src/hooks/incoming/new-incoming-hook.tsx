import { Text } from '@mantine/core'
import type { ChosenPipeline } from '../pipeline-field.tsx'

/** `pipeline` is undefined until one is chosen. */
export default function NewIncomingHook(_: { pipeline: ChosenPipeline | undefined }) {
  return <Text className="dimmed">Incoming hooks are created through the API.</Text>
}
