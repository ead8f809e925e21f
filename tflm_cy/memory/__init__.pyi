from tflm_cy.memory.arena import Arena as Arena
from tflm_cy.memory.arena import ArenaExhausted as ArenaExhausted
from tflm_cy.memory.block import Block as Block
from tflm_cy.memory.growing_arena import GrowingArena as GrowingArena
from tflm_cy.memory.problem import Plan as Plan
from tflm_cy.memory.problem import Problem as Problem
from tflm_cy.memory.recording import RecordingArena as RecordingArena
from tflm_cy.memory.single_arena import SingleArena as SingleArena
