// The account of the person who is signed in: profile, password, linked identities, sessions, tokens and roles.
import { Box, Stack } from '@mantine/core'
import { useSignInOptions } from '../session/sign-in-options.tsx'
import { PageHeader } from '../ui/page.tsx'
import { AccessSection } from './access-section.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileSection } from './profile-section.tsx'
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
