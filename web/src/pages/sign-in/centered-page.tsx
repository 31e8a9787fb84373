import { Center, Paper, PasswordInput, type PasswordInputProps, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { ConnectionBanner } from '#web/base/ui/connection-banner.tsx'
import { setFavicon } from '#web/base/ui/favicon.ts'

type CenteredPageProps = { title: string; heading: string; children: ReactNode }

/** The layout of pages for people who are not signed in. */
export function CenteredPage({ title, heading, children }: CenteredPageProps) {
  useEffect(() => {
    document.title = `${title} · Gantry`
    setFavicon('idle')
  }, [title])
  return (
    <>
      <ConnectionBanner />
      <Center component="main" mih="100dvh" p="md">
        <Paper withBorder p="xl" w="min(26rem, 100%)">
          <Title order={1} size="h2" className="wrap" mb="xs">
            {heading}
          </Title>
          {children}
          <Text size="sm" ta="center" mt="lg">
            <a href="/docs/guides">Guides</a>
          </Text>
        </Paper>
      </Center>
    </>
  )
}

export const PASSWORD_LENGTH = { minLength: 8, maxLength: 255 }

type PasswordFieldProps = PasswordInputProps & { 'data-autofocus'?: true | undefined }

export function PasswordField(props: PasswordFieldProps) {
  return (
    <PasswordInput
      label="Password"
      required
      withAsterisk={false}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
      {...props}
    />
  )
}

/** One that the person chooses. */
export function NewPasswordField(props: PasswordFieldProps) {
  return (
    <PasswordField
      description="At least 8 characters"
      autoComplete="new-password"
      {...PASSWORD_LENGTH}
      {...props}
    />
  )
}

/** Tells password managers whose password the form sets. */
export function UsernameField({ email }: { email: string }) {
  return <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
}
