import { Modal, Text } from '@mantine/core'
import { keepFocus } from '#web/base/ui/keep-focus.ts'
import { useLayer } from '#web/base/ui/layers.ts'
import { type SignIn, SignInForm } from './sign-in.tsx'

/** The page stays as it is, with the dialog that may be open there. */
const ABOVE_DIALOGS = 1_000

/** Above the page of a session that has ended. */
export default function SignInAgain({ signIn, email }: { signIn: SignIn; email: string }) {
  useLayer()
  return (
    <Modal
      opened
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      lockScroll={false}
      title="Your session has ended"
      centered
      zIndex={ABOVE_DIALOGS}
    >
      <Text size="sm" mb="md" ref={keepFocus}>
        Sign in again to continue. Nothing on this page is lost.
      </Text>
      <SignInForm signIn={signIn} email={email} />
    </Modal>
  )
}
