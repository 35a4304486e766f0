#pragma once

/// No library has it.
void holdfast_absent(void);
