import { Button, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useApi } from '../api/services.ts'
import { useSession } from '../session/session.ts'
import { fieldErrors } from '../ui/field-errors.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import { languageChoices } from './languages.ts'

export function ProfileSection() {
  const api = useApi()
  const { user, setUser } = useSession()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: user.name, language: user.language },
  })
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ name, language }: typeof form.values) =>
      api.put('/users/me', { body: { name: name.trim(), language } }),
    onSuccess(saved) {
      setUser(saved)
      notifications.show({ message: 'Profile saved' })
    },
  })
  const { errors, rest } = fieldErrors(error, ['name', 'language'])
  return (
    <SectionCard id="profile" title="Profile">
      <form onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack gap="sm" align="flex-start">
          {rest && <ErrorAlert error={rest} />}
          <TextInput
            label="Email"
            w="min(24rem, 100%)"
            value={user.email}
            readOnly
            description="It identifies you and cannot be changed."
          />
          <TextInput
            label="Name"
            w="min(24rem, 100%)"
            autoComplete="name"
            required
            withAsterisk={false}
            maxLength={255}
            key={form.key('name')}
            {...form.getInputProps('name')}
            error={errors.name}
          />
          <NativeSelect
            label="Language"
            w="min(24rem, 100%)"
            description="Part of your profile in the API. The dashboard is in English."
            data={languageChoices(user.language)}
            key={form.key('language')}
            {...form.getInputProps('language')}
            error={errors.language}
          />
          <Button type="submit" variant="default" loading={isPending}>
            Save
          </Button>
        </Stack>
      </form>
    </SectionCard>
  )
}
