import { Alert, Group, Stack, TextInput } from '@mantine/core'
import { TriangleAlert } from 'lucide-react'
import { reachProblem } from '#client/index.ts'
import { CopyButton } from './parts.tsx'

type CopyFieldProps = { label: string; value: string; description?: string }

/** A value that people take somewhere else. */
export function CopyField({ label, value, description }: CopyFieldProps) {
  return (
    <Stack gap="xs">
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          label={label}
          description={description}
          flex={1}
          readOnly
          value={value}
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton text={() => value} label={`Copy ${label}`} />
      </Group>
      {/^https?:/.test(value) && <ReachWarning url={value} />}
    </Stack>
  )
}

type ReachWarningProps = { url: string; mb?: 'md' | undefined; children?: string }

/** About a URL of Gantry that others get, and cannot reach. */
export function ReachWarning({ url, mb, children }: ReachWarningProps) {
  const problem = reachProblem(url)
  if (problem === undefined) return null
  return (
    <Alert color="orange" icon={<TriangleAlert size={18} aria-hidden="true" />} role="note" mb={mb}>
      {children} {problem}
    </Alert>
  )
}

export function SecretOnce(props: CopyFieldProps) {
  return (
    <Stack gap="xs">
      <Alert color="orange" role="status">
        Copy it now. It is not shown again.
      </Alert>
      <CopyField {...props} />
    </Stack>
  )
}
