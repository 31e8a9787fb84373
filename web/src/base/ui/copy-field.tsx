import { Alert, Group, Stack, TextInput } from '@mantine/core'
import { CopyButton } from './parts.tsx'

type CopyFieldProps = { label: string; value: string; description?: string }

/** A value that people take somewhere else. */
export function CopyField({ label, value, description }: CopyFieldProps) {
  return (
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
