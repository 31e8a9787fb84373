/** Additional authenticated data of sealed values (crypto/secret-box.ts). Stored: never change these. */
export const credentialAad = (id: number) => `credentials/${id}/secret`
export const variableAad = (id: number) => `application_variables/${id}/value`
export const capturedAad = (id: string) => `captured_values/${id}/hidden`
