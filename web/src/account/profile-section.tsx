import { NativeSelect, TextInput } from '@mantine/core'
import { useApi } from '../api/services.ts'
import { useSession } from '../session/session.ts'
import { RecordForm } from '../ui/form/record-form.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { notify } from '../ui/notify.ts'
import { SectionCard } from '../ui/parts.tsx'
import { languageChoices } from './languages.ts'

export function ProfileSection() {
  const api = useApi()
  const { user, setUser } = useSession()
  const form = useRecordForm({
    id: 'profile',
    initial: { name: user.name, language: user.language },
    save: ({ name, language }) => api.put('/users/me', { body: { name: name.trim(), language } }),
    onSaved(saved) {
      setUser(saved)
      notify.done('Profile saved.')
    },
  })
  return (
    <SectionCard id="profile" title="Profile">
      <RecordForm form={form} submit="Save changes">
        <TextInput
          label="Email"
          value={user.email}
          readOnly
          description="It identifies you and cannot be changed."
        />
        <TextInput label="Name" autoComplete="name" maxLength={255} {...form.field('name')} />
        <NativeSelect
          label="Language"
          description="Part of your profile in the API. The dashboard is in English."
          data={languageChoices(user.language)}
          {...form.field('language')}
        />
      </RecordForm>
    </SectionCard>
  )
}
