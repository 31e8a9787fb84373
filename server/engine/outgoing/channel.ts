/** NOTIFY channel of stored attempts and tests; the payload is the hook's id. */
export const ATTEMPTS_CHANNEL = 'delivery_attempts'
