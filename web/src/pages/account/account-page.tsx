// The account of the person who is signed in: profile, password, linked identities, sessions, tokens and roles.
import { Box, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { GantryError } from '#client/index.ts'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useSession } from '#web/base/session/session.ts'
import { notify } from '#web/base/ui/notify.ts'
import { PageHeader } from '#web/base/ui/page.tsx'
import { SectionCard } from '#web/base/ui/parts.tsx'
import {
  NewPasswordField,
  PASSWORD_LENGTH,
  PasswordField,
  UsernameField,
} from '#web/pages/sign-in/centered-page.tsx'
import { signInProblem } from '#web/pages/sign-in/problems.ts'
import { useSignInOptions } from '#web/pages/sign-in/sign-in-options.tsx'
import { AccessSection } from './access-section.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { languageChoices } from './languages.ts'
import { SessionsSection } from './sessions-section.tsx'
import { TokensSection } from './tokens-section.tsx'

export default function AccountPage() {
  const { data: options } = useSignInOptions()
  return (
    <Box maw="48rem">
      <PageHeader title="Account" />
      <Stack gap="md">
        <ProfileSection />
        {options?.password && <PasswordSection />}
        {options?.oidc && <IdentitiesSection />}
        <TokensSection />
        <SessionsSection />
        <AccessSection />
      </Stack>
    </Box>
  )
}

function ProfileSection() {
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

/** Empty again after each change. */
function PasswordSection() {
  const [count, setCount] = useState(0)
  return (
    <SectionCard id="password" title="Password">
      <PasswordForm key={count} onChanged={() => setCount(count + 1)} />
    </SectionCard>
  )
}

function PasswordForm({ onChanged }: { onChanged(): void }) {
  const api = useApi()
  const refetch = useRefetch()
  const { user } = useSession()
  const form = useRecordForm({
    id: 'password',
    initial: { current_password: '', new_password: '' },
    secrets: ['current_password', 'new_password'],
    validate: ({ new_password }) => ({
      new_password:
        new_password.length < PASSWORD_LENGTH.minLength
          ? `Must be at least ${PASSWORD_LENGTH.minLength} characters.`
          : null,
    }),
    save: (body) =>
      api.post('/users/me/password', { body }).catch((error: Error) => {
        // After too many wrong ones: when to try again.
        const isThrottled = error instanceof GantryError && error.status === 429
        throw isThrottled ? new Error(signInProblem(error, Date.now())) : error
      }),
    onSaved() {
      notify.done('Password changed. Your other sessions have ended.')
      void refetch(queryKeys.sessions)
      onChanged()
    },
  })
  return (
    <RecordForm form={form} submit="Change password">
      <UsernameField email={user.email} />
      <PasswordField
        label="Current password"
        autoComplete="current-password"
        {...form.field('current_password')}
      />
      <NewPasswordField
        label="New password"
        description="At least 8 characters. Changing it ends your other sessions; tokens stay."
        {...form.field('new_password')}
      />
    </RecordForm>
  )
}
