/* Modules that can be changed while they run (hot reload, DOTNET_MODIFIABLE_ASSEMBLIES).
 *
 * A change numbers its rows of metadata after those that the compiler wrote. A probe's signature would have such a number: the
 * runtime then refuses the change (10.0.12: "The assembly update failed"), and the program sees an exception that it would not see otherwise. So such
 * modules get no probes, and where calls are recorded hooks see them, which need nothing in the metadata. */
#include "metadata/hot_reload.h"
#include "core/profiler_api.h"

#include <stdlib.h>
#include <strings.h>

#define MODES_BYTES 8u          /* prolog, modes, number of named arguments: ECMA-335 II.23.3 */
#define DISABLE_OPTIMIZATIONS 1u /* 0x100 of DebuggingModes, in its second byte */
#define TWO_BOOLEANS_BYTES 6u   /* the other constructor: isJITTrackingEnabled, isJITOptimizerDisabled */

static KEPT bool allowed; /* the process lets its modules be changed */

void changeable_init(void)
{
    const char *text = getenv("DOTNET_MODIFIABLE_ASSEMBLIES");
    if (text == NULL)
        text = getenv("COMPlus_MODIFIABLE_ASSEMBLIES");
    allowed = text != NULL && strcasecmp(text, "debug") == 0;
}

bool changeable_modules(void)
{
    return allowed;
}

bool changeable_module(void *info, uintptr_t module)
{
    const uint8_t *blob = NULL;
    uint32_t bytes = 0;
    void *import = NULL;
    if (!allowed)
        return false;
    if (SLOT(info, INFO_GET_MODULE_META_DATA, uintptr_t, uint32_t, const struct guid *, void **)(info, module, 0, &IID_METADATA_IMPORT, &import) != HR_OK ||
        import == NULL)
        return true;
    hresult hr = SLOT(import, IMPORT_GET_CUSTOM_ATTRIBUTE, uint32_t, const utf16 *, const uint8_t **, uint32_t *)(
        import, TOKEN_ASSEMBLY, u"System.Diagnostics.DebuggableAttribute", &blob, &bytes);
    bool changeable = hr < 0; /* not known */
    if (hr == HR_OK && blob != NULL)
        changeable = bytes >= MODES_BYTES ? (blob[3] & DISABLE_OPTIMIZATIONS) != 0 : bytes == TWO_BOOLEANS_BYTES && blob[3] != 0;
    com_release(import);
    return changeable;
}
